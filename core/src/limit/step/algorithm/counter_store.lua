  if kind == 'c' then
    redis.call(
      'HSET', key,
      'start', string.format('%.0f', u),
      'before', string.format('%.0f', v),
      'taken', string.format('%.0f', w),
      'written', string.format('%.0f', now)
    )
    redis.call('PEXPIRE', key, string.format('%.0f', math.ceil((u + 2 * second - now) / 1000) + 1))
  end
