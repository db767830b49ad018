-- Prolongs the leases of many locks.
--
-- KEYS[i]          lock i: HASH
-- ARGV[3i-2]       owner of lock i
-- ARGV[3i-1]       lease in ms of lock i, counted from now
-- ARGV[3i]         1: exactly this lease, which takes back what a clock that was set back has added to it;
--                  0: never shorter than what is left, because a renewal and an extension may overtake one another
--
-- Reply            for each lock: 1 prolonged, 0 no such key, 2 held by somebody else, 3 not a lock any more
--
-- Keeps I2, also across a clock that was set back, and I4 when a renewal overtakes an extension. One bad key must not stop the others: hence pcall.
local replies = {}
for i, key in ipairs(KEYS) do
  local owned = redis.pcall('HEXISTS', key, ARGV[3 * i - 2])
  if type(owned) == 'table' then
    replies[i] = 3
  elseif owned == 1 then
    if ARGV[3 * i] == '1' or redis.call('PTTL', key) < tonumber(ARGV[3 * i - 1]) then
      redis.call('PEXPIRE', key, ARGV[3 * i - 1])
    end
    replies[i] = 1
  else
    replies[i] = redis.call('EXISTS', key) * 2
  end
end
return replies
