  -- How the rate stood when the tokens were charged, behind the words of all rates.
  local marks = count * 6 + i * 3
  local one, two, three = tonumber(ARGV[marks]), tonumber(ARGV[marks + 1]), tonumber(ARGV[marks + 2])
  local same, gone
  if kind == 'g' then
    gone = u < one or (u == one and v < two)
    local soon_us, soon_part = now + second, tonumber(ARGV[i * 6])
    same = u == one and v == two and (one > soon_us or (one == soon_us and two >= soon_part))
  elseif kind == 'l' then
    gone = v == z
    same = v == three and u + second - w == two and y == cost
  elseif kind == 'c' then
    gone = v == 0 and w == 0
    same = u == one and v == two and w == three
  else
    gone = v == 0
    same = u == one and v == two
  end
  all_gone, all_same = all_gone and gone, all_same and same and not gone
