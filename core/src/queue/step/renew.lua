-- Prolongs the leases of many deliveries. Stands behind queue.lua only.
--
-- KEYS[i]     F of the queue of delivery i, see jobs.lua
-- ARGV[3i-2]  its owner
-- ARGV[3i-1]  lease in ms, counted from now; never shortens what is left
-- ARGV[3i]    not 0: what is left beyond so many ms is cut off, because a clock that was set back has added it
--
-- Reply       for each: ms that are left (> 0), 0 not held any more, -3 the key holds something else
--
-- What is over is not brought back: the next take may take it back. One bad key must not stop the others: hence pcall, and only where
-- the key is read.
local ms = math.floor(clock() / 1000)

local function renew(F, owner, lease, cut)
  local ends = redis.pcall('ZSCORE', F, owner)
  if type(ends) == 'table' then
    return -3
  end
  ends = tonumber(ends or nil)
  if not ends or ends <= ms then
    return 0
  end
  local left = ends - ms
  if left < lease then
    left = lease
  elseif cut ~= 0 and left > cut then
    left = cut
  else
    return left
  end
  -- A first write that needs no memory, for a server that is full.
  redis.call('ZREM', F, '')
  redis.call('ZADD', F, 'XX', ms + left, owner)
  return left
end

local replies = {}
for i = 1, #KEYS do
  replies[i] = renew(KEYS[i], ARGV[3 * i - 2], tonumber(ARGV[3 * i - 1]), tonumber(ARGV[3 * i]))
end
return replies
