  -- Now that `text` says what is to be stored, and `ahead` for how many us.
  if b > now then
    text, ahead = string.format('%s!%.0f:%.0f', text, b, now), math.max(ahead, b - now)
  end
  ahead = string.format('%.0f', math.ceil(ahead / 1000) + 1)
  if kind ~= 'l' then
    redis.call('SET', key, text, 'PX', ahead)
  elseif v > z then
    if added then
      redis.call('RPUSH', key, text)
    elseif moved then
      redis.call('LSET', key, -1, text)
    end
    redis.call('PEXPIRE', key, ahead)
  else
    -- Nothing in the log counts any more.
    redis.call('DEL', key)
    if b > now then
      redis.call('RPUSH', key, text)
      redis.call('PEXPIRE', key, ahead)
    end
  end
