import assert from 'node:assert/strict'
import { dirname, join, relative } from 'node:path'
import { test, type TestContext } from 'node:test'
import { nodeLinux, nodePlatform } from '#/platform/node.ts'
import { temporaryFolder } from '../../../tests/temporary-folder.ts'
import { readProgramFiles } from './program-files.ts'

const { files } = nodePlatform({ log: { level: 'error', format: 'text' } })
const linux = await nodeLinux()

/** A folder with these files; the content of a package file is its dependencies. */
async function tree(t: TestContext, contents: Readonly<Record<string, string>>): Promise<string> {
  const folder = await linux.files.realPath(await temporaryFolder(t))
  for (const [path, content] of Object.entries(contents)) {
    const dependencies = Object.fromEntries(content.split(' ').map(name => [name, '1']))
    const text = path.endsWith('package.json') && content !== '' ? { dependencies } : {}
    await files.makeFolder(join(folder, dirname(path)))
    await files.write(join(folder, path), JSON.stringify(text))
  }
  return folder
}

/** `PATH` below the program's folder in the image, with ` < SOURCE` where that is elsewhere in the tree. */
async function list(folder: string, root: string): Promise<readonly string[]> {
  const { main, entries } = await readProgramFiles({ files, links: linux.files }, join(folder, root))
  const listed = entries.map(({ path, source }) => {
    const [to, from] = [relative('usr/lib/k8ts', path), relative(join(folder, root), source)]
    return to === from ? to : `${to} < ${relative(folder, source)}`
  })
  return [relative('usr/lib/k8ts', main), ...listed]
}

test('the image has the sources of a checkout without tests, and no dependencies of development', async t => {
  const folder = await tree(t, {
    'package.json': 'a node',
    'src/main.ts': '',
    'src/x/x.ts': '',
    'src/x/x.test.ts': '',
    'src/x/testdata/y.json': '',
    'dist/main.js': '',
    'node_modules/a/package.json': '',
    'node_modules/a/lib/a.js': '',
    'node_modules/a/lib/a.d.ts': '',
    'node_modules/a/README.md': '',
    'node_modules/node/package.json': '',
    'node_modules/typescript/package.json': '',
  })
  assert.deepEqual(await list(folder, ''), [
    'src/main.ts',
    'package.json',
    'src/main.ts',
    'src/x/x.ts',
    'node_modules/a/lib/a.js',
    'node_modules/a/package.json',
  ])
})

test('dependencies of an installed package are as high up as their versions allow', async t => {
  const folder = await tree(t, {
    'node_modules/k8ts/package.json': 'a b',
    'node_modules/k8ts/dist/main.js': '',
    'node_modules/k8ts/dist/main.d.ts': '',
    'node_modules/a/package.json': 'c',
    'node_modules/a/node_modules/c/package.json': '',
    'node_modules/b/package.json': 'c @s/d',
    'node_modules/c/package.json': '',
    'store/d/package.json': 'e',
    'store/e/package.json': '',
    'node_modules/other/package.json': '',
  })
  await files.makeFolder(join(folder, 'node_modules/@s'))
  await files.makeFolder(join(folder, 'store/node_modules'))
  await linux.files.symlink(join(folder, 'store/d'), join(folder, 'node_modules/@s/d'))
  await linux.files.symlink(join(folder, 'store/e'), join(folder, 'store/node_modules/e'))
  assert.deepEqual(await list(folder, 'node_modules/k8ts'), [
    'dist/main.js',
    'package.json',
    'dist/main.js',
    'node_modules/a/package.json < node_modules/a/package.json',
    'node_modules/c/package.json < node_modules/a/node_modules/c/package.json',
    'node_modules/b/package.json < node_modules/b/package.json',
    'node_modules/@s/d/package.json < store/d/package.json',
    'node_modules/e/package.json < store/e/package.json',
    'node_modules/b/node_modules/c/package.json < node_modules/c/package.json',
  ])
})

test('a missing dependency is reported', async t => {
  const folder = await tree(t, { 'package.json': 'a', 'src/main.ts': '' })
  await assert.rejects(list(folder, ''), /has no dependency a: install k8ts again/)
})
