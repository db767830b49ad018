// Words of steps and answers as Node's values.

export const number = (given) => (given === undefined ? undefined : Number(given));
export const whole = (length) => (length === undefined ? undefined : Math.round(length));
