-- Ends a delivery whose job is not done: it waits again, or is dead because it was delivered as often as it may be.
--
-- KEYS     M, D, R, F, O, X, N, Q, S: see jobs.lua
-- ARGV[2]  owner of the delivery
-- ARGV[3]  in how many ms it is due again; -1: as before, so that it keeps its place
-- ARGV[4]  0: the delivery counts; 1: nobody has seen it, and it does not count; a fencing token: only that delivery was seen
-- ARGV[5]  why, for the dead list
--
-- Reply    {1}: it waits again, {2}: it is dead, {0}: there is no such delivery any more
--
-- It works on a server that is full.
local now = clock()
local ms = math.floor(now / 1000)
local token, id = delivery(ARGV[2])
if not id then
  return {0}
end
local delay, head, before = tonumber(ARGV[3]), head_and_first()
begin()
local due = delay >= 0 and math.ceil(now / 1000) + delay or nil
local undelivered = ARGV[4] ~= '0' and ARGV[4] ~= token
local dead = put_back(ARGV[2], id, ms, due, undelivered, ARGV[5])
announce(now, head, before)
return {dead and 2 or 1}
