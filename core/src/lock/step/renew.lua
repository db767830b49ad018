-- Prolongs the leases of many locks.
--
-- KEYS[i]          lock i: HASH
-- ARGV[3i-2]       owner of lock i
-- ARGV[3i-1]       lease in ms of lock i, counted from now; never shortens what is left
-- ARGV[3i]         not 0: what is left beyond so many ms is cut off, because a clock that was set back has added it
--
-- Reply            for each lock: ms that are left (> 0), 0 no such key, -2 held by somebody else, -3 not a lock any more
--
-- Keeps I2, and I4 when a renewal overtakes an extension. One bad key must not stop the others: hence pcall.
local replies = {}
for i, key in ipairs(KEYS) do
  local owned = redis.pcall('HEXISTS', key, ARGV[3 * i - 2])
  if type(owned) == 'table' then
    replies[i] = -3
  elseif owned == 1 then
    local left, wanted = redis.call('PTTL', key), tonumber(ARGV[3 * i - 1])
    if left < wanted then
      left = wanted
      -- As it came: Lua would print the number anew.
      redis.call('PEXPIRE', key, ARGV[3 * i - 1])
    elseif ARGV[3 * i] ~= '0' and left > tonumber(ARGV[3 * i]) then
      left = tonumber(ARGV[3 * i])
      redis.call('PEXPIRE', key, ARGV[3 * i])
    end
    replies[i] = left
  else
    replies[i] = redis.call('EXISTS', key) * -2
  end
end
return replies
