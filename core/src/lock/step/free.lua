-- Frees a lock. Stands behind queue.lua, in front of each script that releases.
--
-- Nothing that comes before the freeing may be refused, and nothing that comes after it may make an error of a release that is
-- done.

-- Frees the lock L if this owner holds it, and wakes who is first in the queue. `channel`: Redisson's, of the lock; gets the
-- message 0. `rejoins`: the owner's client joins the queue at its end. False if the owner does not hold it; else true, whether
-- those who wait could be told, and the rank of a client that has joined, or -1.
local function free(owner, channel, rejoins)
  if redis.call('HDEL', L, owner) == 0 then
    return false
  end
  local told = type(redis.pcall(PUBLISH, channel, '0')) ~= 'table'
  local head = redis.pcall('ZRANGE', Q, 0, 0)[1]
  if head then
    local heard = tell(head, 'free')
    told = heard and told
    if heard == 0 then
      pcall(function()
        queue_at(clock()).front().pass_on()
      end)
    end
  end
  local rank = -1
  if rejoins then
    local client = string.match(owner, '^(.*):')
    local joined, place = pcall(function()
      local queue = queue_at(clock())
      return queue.stay(client, true) or queue.join(client)
    end)
    rank = joined and place or -1
  end
  return true, told and 1 or 0, rank
end

