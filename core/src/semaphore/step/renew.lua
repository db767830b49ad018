-- Prolongs the leases of many acquires of permits.
--
-- KEYS[2i-1]  L of the semaphore of acquire i, KEYS[2i]  P: see permits.lua
-- ARGV[4i-3]  base of the ids of acquire i
-- ARGV[4i-2]  how many permits
-- ARGV[4i-1]  lease in ms, counted from now; never shortens what is left
-- ARGV[4i]    not 0: what is left beyond so many ms is cut off, because a clock that was set back has added it
--
-- Reply       for each acquire: ms that are left (> 0), 0 not held any more, -3 not a semaphore any more
--
-- What has expired is not brought back: the next acquire that lacks permits may take it. One bad key must not stop the others:
-- hence pcall, and only where the key is read: what a replica refuses is refused as a whole, and is no loss.
local ms = math.floor(clock() / 1000)

local function renew(base, n, lease, cut)
  local expiry = redis.pcall('ZSCORE', P, base .. '0000')
  if type(expiry) == 'table' then
    return -3
  end
  expiry = tonumber(expiry or nil)
  if not expiry or expiry <= ms then
    return 0
  end
  local left = expiry - ms
  if left < lease then
    left = lease
  elseif cut ~= 0 and left > cut then
    left = cut
  else
    return left
  end
  -- In this order: on a server that is full, a script may go on after a first write that needs no memory.
  keep_permits(left, false)
  expire_at(base, n, ms + left, 'XX')
  return left
end

local replies = {}
for i = 1, #KEYS, 2 do
  L, P = KEYS[i], KEYS[i + 1]
  local at = 2 * i - 1
  replies[#replies + 1] = renew(ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3]))
end
return replies
