-- Prolongs the leases of many locks.
--
-- KEYS[i]          lock i: HASH
-- ARGV[2i-1]       owner of lock i
-- ARGV[2i]         lease in ms of lock i, counted from now; never shortens what is left
--
-- Reply            for each lock: 1 prolonged, 0 no such key, 2 held by somebody else, 3 not a lock any more
--
-- Keeps I2, and I4 when a renewal overtakes an extension. One bad key must not stop the others: hence pcall.
local replies = {}
for i, key in ipairs(KEYS) do
  local owned = redis.pcall('HEXISTS', key, ARGV[2 * i - 1])
  if type(owned) == 'table' then
    replies[i] = 3
  elseif owned == 1 then
    if redis.call('PTTL', key) < tonumber(ARGV[2 * i]) then
      redis.call('PEXPIRE', key, ARGV[2 * i])
    end
    replies[i] = 1
  else
    replies[i] = redis.call('EXISTS', key) * 2
  end
end
return replies
