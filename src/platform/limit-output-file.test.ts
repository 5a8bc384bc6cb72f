import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../tests/temporary-folder.ts'
import { limitOutputFile, outputBytesMax } from './limit-output-file.ts'
import { nodeLinux, nodePlatform } from './node.ts'

test('a full output file is copied and emptied, a smaller one stays', async t => {
  const { files } = nodePlatform({ log: { level: 'error', format: 'text' } })
  const path = join(await temporaryFolder(t), 'etcd.log')
  const textOf = async (file: string): Promise<string> => Buffer.from(await files.read(file)).toString()
  const output = { files, linux: await nodeLinux(), path }
  assert.equal(await limitOutputFile(output), false, 'the program has not started')
  const full = 'x'.repeat(outputBytesMax)
  await files.write(path, full)
  assert.equal(await limitOutputFile(output), false)
  await using program = await files.openAppend(path)
  await program.append(Buffer.from('y'))
  assert.equal(await limitOutputFile(output), true)
  await program.append(Buffer.from('z'))
  assert.equal(await textOf(path), 'z')
  assert.equal(await textOf(`${path}.old`), `${full}y`)
})
