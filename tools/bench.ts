/**
 * Runs a benchmark: `npm run bench -- store` runs bench/store.ts with the remaining parameters. Lists the
 * benchmarks when none is given.
 */
import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const [name, ...parameters] = process.argv.slice(2)
const names = globSync('*.ts', { cwd: `${root}/bench` })
  .map(file => file.replace(/\.ts$/, ''))
  .sort()

if (name !== undefined && names.includes(name)) {
  const command = [`bench/${name}.ts`, ...parameters]
  process.exitCode = spawnSync(process.execPath, command, { cwd: root, stdio: 'inherit' }).status ?? 1
} else {
  console.log(`Benchmarks: npm run bench -- NAME\n${names.map(each => `  ${each}\n`).join('')}`)
  if (name !== undefined) console.error(`There is no benchmark ${name}.`)
  process.exitCode = name === undefined ? 0 : 2
}
