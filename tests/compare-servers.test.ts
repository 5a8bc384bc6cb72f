import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { ChildCluster } from './clients/cluster.ts'
import { temporaryFolder } from './temporary-folder.ts'

const tool = fileURLToPath(new URL('../tools/compare-servers.ts', import.meta.url))

interface Result {
  readonly code: number
  readonly output: string
}

test('two API servers of the same kind do not differ, and one with another admission plugin does', async t => {
  const memory = { store: 'memory' } as const
  await using ours = await ChildCluster.start(memory)
  await using same = await ChildCluster.start(memory)
  const flags = ['--enable-admission-plugins=AlwaysPullImages']
  await using other = await ChildCluster.start({ ...memory, flags })
  const report = join(await temporaryFolder(t), 'report.jsonl')
  const compare = (theirs: ChildCluster, ...more: readonly string[]): Promise<Result> =>
    run(['--ours', ours.kubeconfig, '--theirs', theirs.kubeconfig, ...more])

  const equal = await compare(same, '--only', '^(?:- |v1/services |.*widgets )', '--report', report)
  assert.deepEqual([equal.code, await readFile(report, 'utf8')], [0, ''], equal.output)
  const [, sent, identical] = /^\| all \| (\d+) \| (\d+) \|/m.exec(equal.output) ?? []
  assert.ok(Number(sent) > 1_000 && sent === identical, equal.output)

  const different = await compare(other, '--only', '^v1/pods create', '--report', report)
  assert.equal(different.code, 1, different.output)
  const lines = (await readFile(report, 'utf8')).split('\n')
  const line = lines.find(line => line.includes('create rich"')) ?? ''
  const { classes, differences } = JSON.parse(line) as { classes: unknown; differences: readonly object[] }
  assert.deepEqual(classes, ['body'])
  assert.deepEqual(differences[0], {
    class: 'body',
    place: '/spec/containers/0/imagePullPolicy',
    ours: 'IfNotPresent',
    theirs: 'Always',
  })

  const one = await compare(other, '--request', 'v1/pods create rich')
  assert.equal(one.code, 1)
  assert.match(
    one.output,
    /body: \/spec\/containers\/0\/imagePullPolicy: is "IfNotPresent", should be "Always"/,
  )
})

async function run(flags: readonly string[]): Promise<Result> {
  return new Promise(resolve => {
    execFile(process.execPath, [tool, ...flags], { maxBuffer: 100_000_000 }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1
      resolve({ code, output: stdout + (code === 0 || code === 1 ? '' : stderr) })
    })
  })
}
