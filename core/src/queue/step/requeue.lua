-- Has dead jobs wait again, due now, as if they had never been delivered.
--
-- KEYS     M, D, R, F, O, X, N, Q, S: see jobs.lua
-- ARGV[2]  id of the request, and ARGV[3] not after, server time in us: see once.lua
-- ARGV[4]  the id of the job; empty: as many as one script should move, those that died first
--
-- Reply    {now us, how many}
--          {now us}  too late, nothing done
--
-- It works on a server that is full.
local now = clock()
if now > tonumber(ARGV[3]) then
  return {now}
end
local ms = math.floor(now / 1000)
local head, before = head_and_first()
local request, id = ARGV[2], ARGV[4]
-- Reads X in any case: should it be somebody else's, this fails before anything is done.
local dead = redis.call('ZRANGE', X, 0, id == '' and REMOVED - 1 or 0)
if id ~= '' then
  dead = {id}
end
local moved_before = counted_before(request)
if moved_before then
  return {now, moved_before}
end
local jobs, ids = {}, {}
for _, each in ipairs(dead) do
  local text = redis.call('HGET', M, each)
  local job = text and parse(text)
  if job and job.place == 'd' then
    jobs[#jobs + 1], ids[#ids + 1] = job, each
  end
end
if #jobs == 0 then
  return {now, 0}
end
begin()
may_add(R)
counted(request, #jobs, now, tonumber(ARGV[3]), function()
  for each, job in ipairs(jobs) do
    job.rank = rank_at(job.rank, ms)
    redis.call('HSET', M, ids[each], waiting_entry(job, string.format('%d', ms), 0))
    redis.call('ZADD', R, precedence(job.rank, ms), job.rank .. ids[each])
    redis.call('ZREM', X, ids[each])
  end
end)
announce(now, head, before)
return {now, #jobs}
