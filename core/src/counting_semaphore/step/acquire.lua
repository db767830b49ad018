-- Takes permits for several acquires of one client, one after the other, up to the first that is not granted; says of that
-- what is in the way. The server remembers the id of an acquire that was granted, so that a repeat takes no more.
--
-- KEYS          L, D, T, Q, S: see counting.lua
-- ARGV[1]       client
-- ARGV[2]       not after, server time in us: later than this the request is void
-- ARGV[3]       no attempt takes effect after this, server time in us: so long an id is remembered at least
-- ARGV[4]       1 to stand in the queue if they are not granted, 0 for a non-blocking attempt
-- ARGV[3 + 2i]  id of acquire i
-- ARGV[4 + 2i]  how many permits it takes
--
-- Reply         {0, now us}                            all granted
--               {1, now us, granted, available, rank}  too few are available; rank -1: does not wait
--               {2, now us}                            too late, nothing done
--               {3, now us, granted, rank}             so many are available, but others come first
--               granted: how many acquires were, before this one
--
-- Never grants more than are available, and nothing that somebody in front is waiting for, but for two non-blocking attempts per
-- head.
local client, void_after, waits = ARGV[1], tonumber(ARGV[3]), ARGV[4] == '1'
local now = clock()
if now > tonumber(ARGV[2]) then
  return {2, now}
end

-- Nil when they are granted; otherwise what the reply says.
local function acquire(id, n, granted)
  local available = counted()
  if available == 'foreign' then
    return redis.error_reply(NO_COUNT)
  end
  available = available or 0
  -- Read before anything is taken: should D be somebody else's key, this fails.
  if known(id) then
    -- Granted when it was first carried out.
    return nil
  end
  local head = redis.call('ZRANGE', Q, 0, 0)[1]
  local turn = (head or available < n) and turn_of(client, n, waits, head, head and wanting(math.huge), now)
  if turn and not turn.is_due(available) and not turn.gets_past(available) then
    local rank = turn.line_up(available)
    if available >= n then
      return {3, now, granted, rank}
    end
    return {1, now, granted, available, rank}
  end

  if turn then
    turn.prepare()
  end
  available = redis.call('DECRBY', L, n)
  all_or_nothing(id, function()
    once(id, now, void_after)
  end, function()
    -- By the command that took them, which this user may call: what is not remembered could not be undone.
    redis.call('DECRBY', L, -n)
  end)
  if turn then
    turn.leave(available, client)
  end
  return nil
end

for at = 5, #ARGV, 2 do
  local refused = acquire(ARGV[at], tonumber(ARGV[at + 1]), (at - 5) / 2)
  if refused then
    return refused
  end
end
return {0, now}
