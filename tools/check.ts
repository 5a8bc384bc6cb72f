/**
 * Runs all static checks: format, types, lint, unused code, and the rules of the tree. The steps run
 * concurrently, each prints one line, and only failed steps show their output.
 */
import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

const steps: Readonly<Record<string, readonly string[]>> = {
  'format': ['node_modules/.bin/oxfmt', '--check', 'src', 'tools', 'tests', 'bench', 'examples'],
  'types': ['node_modules/.bin/tsc', '--noEmit'],
  'types of the console page': ['node_modules/.bin/tsc', '--noEmit', '-p', 'src/console-page'],
  'lint': ['node_modules/.bin/oxlint', '--type-aware', '--deny-warnings'],
  'unused': ['node_modules/.bin/knip', '--treat-config-hints-as-errors'],
  'tidy': [process.execPath, 'tools/tidy.ts'],
}

const passed = await Promise.all(Object.entries(steps).map(([name, command]) => runStep(name, command)))
process.exitCode = passed.every(Boolean) ? 0 : 1

async function runStep(name: string, [program = '', ...parameters]: readonly string[]): Promise<boolean> {
  const start = performance.now()
  const child = spawn(program, parameters, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
  const exited = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', resolve)
  })
  const [output, complaints, code] = await Promise.all([text(child.stdout), text(child.stderr), exited])
  const seconds = ((performance.now() - start) / 1_000).toFixed(1)
  console.log(`check ${name}: ${code === 0 ? 'ok' : 'FAILED'} (${seconds} s)`)
  if (code !== 0) console.log(`${output}${complaints}`.trimEnd())
  return code === 0
}
