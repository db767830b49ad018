-- Lists jobs without changing them.
--
-- KEYS     M, D, P, R, F, O, X, N, Q, S: see jobs.lua
-- ARGV[2]  w: those that wait, in their order; d: dead ones, in the order in which they died
-- ARGV[3]  how many at most. Ends also with the job that makes it 1 MiB of payload
--
-- Reply    for each {id, payload, how often it was delivered, due ms, rank, since when it is dead in ms or 0, why or ''}
local waiting = ARGV[2] == 'w'
local range = redis.call('ZRANGE', waiting and R or X, 0, ARGV[3] - 1, 'WITHSCORES')
local jobs, bytes = {}, 0
for at = 1, #range, 2 do
  local id = waiting and string.sub(range[at], RANK + 1) or range[at]
  local text = redis.call('HGET', M, id)
  if text then
    local job, payload = parse(text), redis.call('HGET', P, id) or ''
    local since = waiting and 0 or tonumber(range[at + 1])
    jobs[#jobs + 1] = {id, payload, job.deliveries, job.due, job.rank, since, waiting and '' or string.sub(job.rest, 2)}
    bytes = bytes + #payload
    if bytes >= 1048576 then
      break
    end
  end
end
return jobs
