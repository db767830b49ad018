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
local ids = ARGV[2] ~= '' and {ARGV[2]} or redis.call('ZRANGE', X, 0, REMOVED - 1)
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
