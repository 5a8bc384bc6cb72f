import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Simulation } from '#/platform/simulated.ts'
import { Alarms } from './alarms.ts'

test('each change of an alarm is logged and told once, until the listener ends', () => {
  const simulation = new Simulation({ seed: 1 })
  const alarms = new Alarms(simulation.host('a'))
  const listening = new AbortController()
  const changes: string[] = []
  alarms.onChange(
    ({ type, message }, change) => changes.push(`${type} ${message} ${change}`),
    listening.signal,
  )
  alarms.clear('NOSPACE')
  alarms.raise('NOSPACE', 'first')
  alarms.raise('NOSPACE', 'second')
  alarms.raise('CORRUPT', 'damage')
  assert.deepEqual(alarms.current, [
    { type: 'NOSPACE', message: 'first' },
    { type: 'CORRUPT', message: 'damage' },
  ])
  alarms.clear('NOSPACE')
  alarms.clear('NOSPACE')
  listening.abort()
  alarms.raise('STALL', 'slow')
  assert.deepEqual(changes, ['NOSPACE first raised', 'CORRUPT damage raised', 'NOSPACE first cleared'])
  const logged = simulation.trace.filter(line => line.includes('Store alarm'))
  assert.deepEqual(
    logged.map(line => /(error|warn) Store.*/.exec(line)?.[0]),
    [
      'error Store alarm raised alarm="NOSPACE" reason="first"',
      'error Store alarm raised alarm="CORRUPT" reason="damage"',
      'warn Store alarm cleared alarm="NOSPACE"',
      'error Store alarm raised alarm="STALL" reason="slow"',
    ],
  )
})
