  if kind == 'c' then
    redis.call(
      'HSET', key,
      'start', string.format('%.0f', u[i]),
      'before', string.format('%.0f', v[i]),
      'taken', string.format('%.0f', w[i]),
      'written', string.format('%.0f', now)
    )
    redis.call('PEXPIRE', key, string.format('%.0f', math.ceil((u[i] + 2 * second - now) / 1000) + 1))
  end
