import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeLinux, programPaths } from '#/platform/node.ts'
import { parseSharedLibraries, readSharedLibraries } from './shared-libraries.ts'

test('shared libraries are in one folder, and the dynamic loader where the program expects it', () => {
  const check = (output: string, expected: readonly string[]): void => {
    const found = parseSharedLibraries(output, '/bin/x').map(({ path, source }) => `${path} ${source}`)
    assert.deepEqual(found, expected)
  }
  check(
    `\tlinux-vdso.so.1 (0x00007f31fce58000)
\tlibm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007f31fcd58000)
\tlibnode.so.137 => /opt/node/lib/libnode.so.137 (0x00007f31fcd58000)
\t/lib64/ld-linux-x86-64.so.2 (0x00007f31fce5a000)
`,
    [
      'usr/local/lib/libm.so.6 /lib/x86_64-linux-gnu/libm.so.6',
      'usr/local/lib/libnode.so.137 /opt/node/lib/libnode.so.137',
      'lib64/ld-linux-x86-64.so.2 /lib64/ld-linux-x86-64.so.2',
    ],
  )
  check('\t/lib64/ld-linux-x86-64.so.2 => /usr/lib64/ld-linux-x86-64.so.2 (0x00007f31fce5a000)\n', [
    'lib64/ld-linux-x86-64.so.2 /usr/lib64/ld-linux-x86-64.so.2',
  ])
  check('\tstatically linked\n', [])
  check('', [])
  assert.throws(
    () => parseSharedLibraries('\tlibatomic.so.1 => not found\n', '/bin/x'),
    /^Error: \/bin\/x needs libatomic.so.1, which is not installed$/,
  )
})

test('the shared libraries of this Node are found, and none of a program without', async () => {
  const linux = await nodeLinux()
  const paths = (await readSharedLibraries(linux, programPaths().node)).map(({ path }) => path)
  assert.ok(paths.some(path => path.startsWith('usr/local/lib/libc.')))
  assert.ok(paths.some(path => path.startsWith('lib') && path.includes('/ld-')))
  await assert.rejects(readSharedLibraries(linux, '/no/program'), /shared libraries of \/no\/program/)
})
