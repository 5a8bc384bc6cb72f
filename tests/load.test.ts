/** A short form of `npm run load`: no attack ends the server, blocks it or cuts off another client. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { attacks } from '../tools/load/attacks.ts'
import { runAttack } from '../tools/load/run-attack.ts'

/** Share of the full attack. */
const scale: Readonly<Record<string, number>> = {
  'connections': 0.5,
  'lists': 0.02,
  'yaml-lists': 0.02,
  'large-objects': 0.6,
}

/**
 * An outage for other clients, not a measure of speed: `npm run load` measures. Blocks in which the machine
 * gave the server no CPU are not counted.
 */
const outageMs = 2_000

for (const [name, attack] of Object.entries(attacks)) {
  test(`another client is served during the attack ${name}: ${attack.about}`, async () => {
    const options = { scale: scale[name] ?? 0.05, settleMs: 0 }
    const { isAlive, refused, outcome, blockMs, blockCause } = await runAttack(attack, options)
    assert.ok(isAlive, outcome)
    assert.equal(refused, 0, outcome)
    assert.ok(blockMs < outageMs, `the event loop was blocked for ${blockMs} ms by ${blockCause}`)
  })
}
