-- Has dead jobs wait again, due now, as if they had never been delivered.
--
-- KEYS     M, D, R, F, O, X, N, Q, S: see jobs.lua
-- ARGV[2]  the id of the job; empty: as many as one script should move, those that died first
--
-- Reply    how many
--
-- It works on a server that is full. A repeat finds no dead job, and changes nothing.
local now = clock()
local ms = math.floor(now / 1000)
local moved, head, before = 0, head_and_first()
-- Reads X in any case: should it be somebody else's, this fails before anything is done.
local ids = redis.call('ZRANGE', X, 0, ARGV[2] == '' and REMOVED - 1 or 0)
if ARGV[2] ~= '' then
  ids = {ARGV[2]}
end
begin()
may_add(R)
for _, id in ipairs(ids) do
  local text = redis.call('HGET', M, id)
  local job = text and parse(text)
  if job and job.place == 'd' then
    redis.call('HSET', M, id, waiting_entry(job, string.format('%d', ms), 0))
    redis.call('ZADD', R, ms, job.rank .. id)
    redis.call('ZREM', X, id)
    moved = moved + 1
  end
end
if moved > 0 then
  announce(now, head, before)
end
return moved
