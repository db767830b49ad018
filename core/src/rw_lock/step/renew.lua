-- Prolongs the leases of many holds of read-write locks.
--
-- KEYS[2i-1]  L of the lock of hold i, KEYS[2i]  K of that hold: see holds.lua
-- ARGV[3i-2]  field of hold i
-- ARGV[3i-1]  lease in ms, counted from now; never shortens what is left
-- ARGV[3i]    not 0: what is left beyond so many ms is cut off, because a clock that was set back has added it
--
-- Reply       for each hold: ms that are left (> 0), 0 over, -2 held by others, -3 not a read-write lock any more
--
-- What is over is not brought back: others may have got the lock since. One bad key must not stop the others: hence pcall, and
-- only where the key is read: what a replica refuses is refused as a whole, and is no loss.
local function renew(K, field, lease, cut)
  local read, mode = pcall(mode_of)
  if not read or mode == false then
    return -3
  elseif not mode then
    return 0
  end
  if redis.call('HEXISTS', L, field) == 0 then
    return -2
  end
  local left = redis.call('PTTL', K)
  if left ~= -1 and left <= 0 then
    return 0
  end
  local cuts = cut ~= 0 and left > cut
  if cuts or left < lease then
    left = cuts and cut or lease
    redis.call('PEXPIRE', K, left)
  end
  keep_for(left)
  if cut ~= 0 and redis.call('PTTL', L) > left then
    local longest = survey()
    if longest then
      redis.call('PEXPIRE', L, longest)
    end
  end
  return left
end

local replies = {}
for i = 1, #KEYS, 2 do
  L = KEYS[i]
  local at = 3 * (i - 1) / 2 + 1
  replies[#replies + 1] = renew(KEYS[i + 1], ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]))
end
return replies
