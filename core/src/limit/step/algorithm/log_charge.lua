  if kind == 'l' then
    if x[i] > 0 then
      redis.call('LTRIM', key, x[i], -1)
    end
    u[i], v[i], y[i] = at + w[i], v[i] + cost, cost
    -- The entry gets its text where it is stored.
    redis.call('RPUSH', key, '')
    moved[i] = true
  end
