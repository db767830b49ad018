-- Ends deliveries whose jobs are done.
--
-- KEYS      M, D, P, R, F, O, X, N, Q, S: see jobs.lua
-- ARGV[2+]  owners of the deliveries
--
-- Reply     for each 1: done, or 0: there is no such delivery any more
--
-- It works on a server that is full: it only removes. No delivery ends a job that another one has.
local replies = {}
begin()
for at = 2, #ARGV do
  local owner = ARGV[at]
  local _, id = delivery(owner)
  if id then
    -- The job first: should this stop in between, the delivery is taken back, and finds no job.
    remove(id)
    redis.call('ZREM', F, owner)
    redis.call('HDEL', O, owner)
  end
  replies[at - 1] = id and 1 or 0
end
return replies
