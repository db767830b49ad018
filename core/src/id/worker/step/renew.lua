-- Prolongs the leases of many worker numbers, and takes down how far the time of their holders will go.
--
-- KEYS        H, Z, F of the pool of each number: see pool.lua
-- ARGV[4i-3]  owner of number i
-- ARGV[4i-2]  lease in ms, counted from now; never shortens what is left
-- ARGV[4i-1]  not 0: what is left beyond so many ms is cut off, because a clock that was set back has added it
-- ARGV[4i]    the last ms of Unix time that the holder may use until its next renewal, by its own clock
--
-- Reply       for each: ms that are left (> 0), 0 not held any more, -3 no pool any more
--
-- Keeps: the last time that is taken down only grows. What has expired is not brought back: the next acquire may take it. One bad
-- key must not stop the others: hence pcall, and only where the key is read: what a replica refuses is refused as a whole.
local function renew(owner, lease, cut, promise)
  local expiry = redis.pcall('ZSCORE', Z, owner)
  local of = redis.pcall('HGET', H, owner)
  if type(expiry) == 'table' or type(of) == 'table' then
    return -3
  end
  expiry, of = tonumber(expiry or nil), number(of)
  if not expiry or expiry <= ms or of == nil then
    return 0
  end
  local used = of and number(redis.call('HGET', H, text(of)))
  if not used then
    return -3
  end
  local left = expiry - ms
  -- On a server that is full, a script may go on after a first write that needs no memory.
  redis.call('ZREM', Z, '')
  if promise > used then
    redis.call('HSET', H, text(of), text(promise))
  end
  if left < lease then
    left = lease
  elseif cut ~= 0 and left > cut then
    left = cut
  else
    return left
  end
  redis.call('ZADD', Z, ms + left, owner)
  keep(left)
  return left
end

local replies = {}
for i = 1, #KEYS, 3 do
  H, Z, F = KEYS[i], KEYS[i + 1], KEYS[i + 2]
  local at = 4 * (i - 1) / 3
  replies[#replies + 1] =
    renew(ARGV[at + 1], tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4]))
end
return replies
