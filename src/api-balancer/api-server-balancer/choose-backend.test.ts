import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chooseBackend, planProbe, probeResultOf, type BackendState } from './choose-backend.ts'

/**
 * `a 3`: a healthy API server with three connections. `a 3 down=5`: not healthy, tried again at 5. `last-resort`: not
 * in the list. Ties are broken by the order.
 */
function backendsOf(notation: string): readonly BackendState[] {
  return notation.split(', ').map((text, tieBreak) => {
    const [address = '', connections, ...flags] = text.split(' ')
    const down = flags.find(flag => flag.startsWith('down='))
    return {
      address,
      role: flags.includes('last-resort') ? 'last-resort' : 'server',
      isHealthy: down === undefined,
      retryMs: Number(down?.slice('down='.length) ?? 0),
      connectionCount: Number(connections),
      tieBreak,
    }
  })
}

interface Case {
  readonly backends: string
  readonly preferred?: string
  /** The backends that a client connection gets if all attempts fail. */
  readonly order: string
}

function check({ backends, preferred, order }: Case): void {
  const tried = new Set<string>()
  for (;;) {
    const chosen = chooseBackend(backendsOf(backends), { preferred, tried })
    if (chosen === undefined) break
    assert.ok(!tried.has(chosen.address))
    tried.add(chosen.address)
  }
  assert.equal([...tried].join(' '), order, backends)
}

test('a connection gets the best backend, and after each failure the next one', () => {
  check({ backends: 'a 0', order: 'a' })
  check({ backends: 'a 2, b 1, c 3', order: 'b a c' })
  check({ backends: 'a 1, b 1', order: 'a b' })
  check({ backends: 'a 1, b 9', preferred: 'b', order: 'b a' })
  check({ backends: 'a 1, b 9', preferred: 'z', order: 'a b' })
  check({ backends: 'a 0 down=5, b 9', order: 'b a' })
  check({ backends: 'a 0 down=5, b 9 down=4', order: 'b a' })
  check({ backends: 'a 0 down=5, b 9', preferred: 'a', order: 'b a' })
  check({ backends: 'r 0 last-resort, a 9, b 0 down=5', order: 'a b r' })
  check({ backends: 'r 0 last-resort, s 1 last-resort down=1', preferred: 's', order: 'r s' })
})

test('open connections are closed after two unreachable probes, or after a minute of refused ones', () => {
  for (const failed of [0, 1, 100])
    for (const result of ['connected', 'unknown'] as const)
      assert.deepEqual(planProbe(result, failed), { isDead: false, delayMs: 3_000 })
  assert.deepEqual(planProbe('unreachable', 1), { isDead: false, delayMs: 500 })
  assert.deepEqual(planProbe('unreachable', 2), { isDead: true, delayMs: 500 })
  assert.deepEqual(planProbe('refused', 19), { isDead: false, delayMs: 3_000 })
  assert.deepEqual(planProbe('refused', 20), { isDead: true, delayMs: 3_000 })
})

test('errors of this host say nothing about an API server', () => {
  const errors = {
    ECONNREFUSED: 'refused',
    ECONNRESET: 'refused',
    EHOSTUNREACH: 'unreachable',
    ETIMEDOUT: 'unreachable',
  }
  const local = { EMFILE: 'unknown', ENFILE: 'unknown', EADDRNOTAVAIL: 'unknown' }
  for (const [code, expected] of Object.entries({ ...errors, ...local }))
    assert.equal(probeResultOf(Object.assign(new Error(code), { code })), expected)
  assert.equal(probeResultOf(new Error('no answer within 2s')), 'unreachable')
})
