/**
 * Attacks a real API server and shows what another client sees meanwhile. Everything is on loopback. Exits with 1 if
 * the server ended or the other client was refused.
 */
import { parseArgs } from 'node:util'
import { attacks } from './load/attacks.ts'
import { runAttack, type AttackResult } from './load/run-attack.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    scale: { type: 'string', default: '1' },
    help: { type: 'boolean', default: false },
  },
})

const names = Object.keys(attacks)

const usage = `usage: npm run load -- [attack...] [--scale N]

attacks, all of them when none is given:
${names.map(name => `  ${name.padEnd(16)}${attacks[name]!.about}\n`).join('')}
  --scale N       share of the full attack, from 0 to 1

example:
  npm run load -- lists connections --scale 0.1
`

const chosen = positionals.length > 0 ? positionals : names
const unknown = chosen.filter(name => !names.includes(name))
const scale = Number(values.scale)

if (values.help) {
  process.stdout.write(usage)
} else if (unknown.length > 0 || !(scale > 0 && scale <= 1)) {
  process.stderr.write(usage)
  process.exitCode = 2
} else {
  process.exitCode = (await runAll()) ? 0 : 1
}

async function runAll(): Promise<boolean> {
  console.log('| attack | p50 | p99 | longest | refused | memory | result |\n|---|---|---|---|---|---|---|')
  let isGood = true
  for (const name of chosen) {
    const result = await runAttack(attacks[name]!, scale)
    console.log(rowOf(name, result))
    isGood &&= result.isAlive && result.refused === 0
  }
  return isGood
}

function rowOf(name: string, result: AttackResult): string {
  const { p50Ms, p99Ms, longestMs, refused, memoryMb, outcome, isAlive } = result
  const times = [p50Ms, p99Ms, longestMs].map(ms => `${ms.toFixed(1)} ms`)
  const end = isAlive ? outcome : `the server ended: ${outcome}`
  return `| ${[name, ...times, refused, `${Math.round(memoryMb)} MB`, end].join(' | ')} |`
}
