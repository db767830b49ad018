-- What is said of a latch. Stands behind count.lua in front of each script that changes it.

-- Says it on Redisson's channel; false if this user may not. That channel has braces around the whole name: with sharded messages
-- it may belong to another slot than the latch, where it can only be said to all nodes. So it is where nobody heard it.
local function say(channel, what)
  local heard = redis.pcall(PUBLISH, channel, what)
  if PUBLISH == 'SPUBLISH' and (type(heard) == 'table' or heard == 0) then
    heard = redis.pcall('PUBLISH', channel, what)
  end
  return type(heard) ~= 'table'
end
