  -- How the rate stood when the tokens were charged, behind the words of all rates.
  local marks = count * 6 + i * 3
  local one, two, three = tonumber(ARGV[marks]), tonumber(ARGV[marks + 1]), tonumber(ARGV[marks + 2])
  local same, gone
  if kind == 'g' then
    gone = u[i] < one or (u[i] == one and v[i] < two)
    local soon_us, soon_part = now + second, tonumber(ARGV[i * 6])
    same = u[i] == one and v[i] == two and (one > soon_us or (one == soon_us and two >= soon_part))
  elseif kind == 'l' then
    gone = v[i] == z[i]
    same = v[i] == three and u[i] + second - w[i] == two and y[i] == cost
  elseif kind == 'c' then
    gone = w[i] == 0
    same = u[i] == one and v[i] == two and w[i] == three
  else
    gone = v[i] == 0
    same = u[i] == one and v[i] == two
  end
  all_gone, all_same = all_gone and gone, all_same and same and not gone
end

-- Gives back tokens that were reserved and are not wanted any more, if nothing was charged since. Reply: 1 nothing is charged any
-- more, 0 it has to stay charged.
--
-- What was charged since keeps its time, before which there could be more room without this charge than it may fill. Not
-- idempotent: a repeat could give back what others paid.
if not all_same then
  return all_gone and 1 or 0
end
for i = 1, count do
  local key, kind = KEYS[i + 1], ARGV[i * 6 - 3]
  local first, second = tonumber(ARGV[i * 6 - 2]), tonumber(ARGV[i * 6 - 1])
  local write = true
  if write then
