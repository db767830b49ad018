-- Lists jobs without changing them.
--
-- KEYS     M, D, R, F, O, X, N, Q, S: see jobs.lua
-- ARGV[2]  w: those that wait, in their order; d: dead ones, in the order in which they died
-- ARGV[3]  how many at most. Ends also with the job that makes it 1 MiB of payload
--
-- Reply    for each {id, what M has of it, since when it is dead in ms or 0}
local waiting = ARGV[2] == 'w'
local range = redis.call('ZRANGE', waiting and R or X, 0, ARGV[3] - 1, 'WITHSCORES')
local jobs, bytes = {}, 0
for at = 1, #range, 2 do
  local id = waiting and string.sub(range[at], RANK + 1) or range[at]
  local text = redis.call('HGET', M, id)
  if text then
    jobs[#jobs + 1] = {id, text, waiting and 0 or tonumber(range[at + 1])}
    bytes = bytes + #parse(text).payload
    if bytes >= 1048576 then
      break
    end
  end
end
return jobs
