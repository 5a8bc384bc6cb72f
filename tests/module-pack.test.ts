import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempDisposable, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'

const packModule = import.meta.resolve('#/module-pack.ts')

/** A program of three modules; returns a function that runs it and returns its output. */
async function setUp(folder: string): Promise<() => string> {
  const root = pathToFileURL(`${folder}/`).href
  const pack = join(folder, 'program.modules')
  await writeFile(
    join(folder, 'main.mjs'),
    `import { useModulePack } from '${packModule}'
     useModulePack({ path: ${JSON.stringify(pack)}, root: '${root}' })
     await import('./first.ts')`,
  )
  await writeFile(join(folder, 'package.json'), '{"type": "module", "imports": {"#/*": "./*"}}')
  await writeFile(
    join(folder, 'first.ts'),
    `import { value } from './value.ts'
     import { suffix } from '#/suffix.ts'
     const text: string = value + suffix
     console.log(text)`,
  )
  await writeFile(join(folder, 'value.ts'), `export const value: string = 'é one'`)
  await writeFile(join(folder, 'suffix.ts'), `export const suffix = '!'`)
  return () => {
    const { stdout, stderr, status } = spawnSync(process.execPath, [join(folder, 'main.mjs')], {
      encoding: 'utf8',
    })
    assert.deepEqual([status, stderr], [0, ''])
    return stdout.trim()
  }
}

test('the modules of the first run are loaded from the pack, until one of the files changes', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'k8ts-pack-'))
  const run = await setUp(folder.path)
  const value = join(folder.path, 'value.ts')
  assert.equal(run(), 'é one!')
  const pack = join(folder.path, 'program.modules')
  await writeFile(pack, (await readFile(pack, 'utf8')).replace('é one', 'é two'))
  assert.equal(run(), 'é two!', 'the changed source is that of the pack')

  await writeFile(value, `export const value: string = 'é three'`)
  assert.equal(run(), 'é three!')
  assert.equal(run(), 'é three!')
})

test('a file that is not a pack is replaced', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'k8ts-pack-'))
  const run = await setUp(folder.path)
  await writeFile(join(folder.path, 'program.modules'), 'not a pack\n')
  assert.equal(run(), 'é one!')
  assert.equal(run(), 'é one!')
})
