-- Removes jobs that wait, or dead ones; none that a delivery has.
--
-- KEYS     M, D, R, F, O, X, N, Q, S: see jobs.lua
-- ARGV[2]  id of the request, and ARGV[3] not after, server time in us: see once.lua
-- ARGV[4]  w: those that wait; d: dead ones
-- ARGV[5]  the id of the job; empty: as many as one script should remove, the first ones
--
-- Reply    {now us, how many were removed, 1: a delivery has it, else 0}
--          {now us}  too late, nothing done
--
-- It works on a server that is full.
local now = clock()
if now > tonumber(ARGV[3]) then
  return {now}
end
local request, waiting, id = ARGV[2], ARGV[4] == 'w', ARGV[5]
local place = waiting and R or X
local before = counted_before(request)
if before then
  return {now, before, 0}
end
begin()
-- Members of `place`, and the jobs that they are.
local members
local ids = {id}
if id == '' then
  members = redis.call('ZRANGE', place, 0, REMOVED - 1)
  for each, member in ipairs(members) do
    ids[each] = waiting and string.sub(member, RANK + 1) or member
  end
else
  local text = redis.call('HGET', M, id)
  local job = text and parse(text)
  if not job or job.place ~= ARGV[4] then
    return {now, 0, 0}
  end
  members = {waiting and job.rank .. id or id}
  if not redis.call('ZSCORE', place, members[1]) then
    return {now, 0, waiting and 1 or 0}
  end
end
if #members > 0 then
  counted(request, #members, now, tonumber(ARGV[3]), function()
    redis.call('HDEL', M, unpack(ids))
    redis.call('ZREM', place, unpack(members))
  end)
end
return {now, #members, 0}
