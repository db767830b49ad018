  local write = redis.call('EXISTS', key) == 1
  if write then
