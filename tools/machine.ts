/**
 * Runs a command in a copy of this checkout on a minimal system with only git and npm:
 *
 *     npm run machine -- debian13 npm test
 *     npm run machine -- debian12 npm start
 */
import { once } from 'node:events'
import { checkoutFolder, freshMachine } from '../tests/machines/fresh-machine.ts'
import { mirrorOf, systems } from '../tests/machines/root-file-system.ts'

const [name = '', ...command] = process.argv.slice(2)
const system = Object.entries(systems).find(([key]) => key === name)?.[1]
if (system === undefined || command.length === 0) {
  console.error(`usage: npm run machine -- ${Object.keys(systems).join('|')} COMMAND...`)
  process.exit(2)
}
const mirror = await mirrorOf(system)
if (mirror === undefined) {
  console.error(`machine: no apt source of this machine has ${system.origin}`)
  process.exit(1)
}
await using machine = await freshMachine(system, mirror)
const install = 'apt-get -q update && apt-get -q install -y --no-install-recommends git npm'
for (const step of [install, command.join(' ')]) {
  const child = machine.start(step, { workingFolder: checkoutFolder, inherit: true })
  const [code] = (await once(child, 'exit')) as [number | null]
  process.exitCode = code ?? 1
  if (code !== 0) break
}
