import assert from 'node:assert/strict'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { SeededRandom } from '#/base/seeded-random.ts'
import { temporaryFolder } from '../../../../tests/temporary-folder.ts'
import {
  damageFile,
  describeDamages,
  planDamages,
  type DamageableFile,
  type FileDamage,
} from './file-damage.ts'

const files: readonly DamageableFile[] = [
  { name: 'store/00000001.log', usedBytes: 100_000, hasOlderCopy: true },
  { name: 'store/00000002.log', usedBytes: 10, hasOlderCopy: false },
  { name: 'store/mark', usedBytes: 4_200, hasOlderCopy: true },
  { name: 'pki/store.mark', usedBytes: 4_200, hasOlderCopy: true },
]

function plans(): FileDamage[][] {
  return Array.from({ length: 1_000 }, (_, seed) => planDamages(files, new SeededRandom(String(seed))))
}

test('a seed gives the same damage, and all kinds occur on all files', () => {
  assert.deepEqual(plans(), plans())
  const all = plans().flat()
  assert.deepEqual([...new Set(all.map(({ type }) => type))].sort(), [
    'append',
    'delete',
    'flip-bit',
    'roll-back',
    'swap',
    'truncate',
    'zero',
  ])
  assert.deepEqual([...new Set(all.map(({ name }) => name))].sort(), files.map(({ name }) => name).sort())
  assert.deepEqual(planDamages([], new SeededRandom('1')), [])
})

test('at most two files are damaged, inside of their content', () => {
  for (const damages of plans()) {
    const names = damages.flatMap(each => (each.type === 'swap' ? [each.name, each.otherName] : [each.name]))
    assert.ok(
      names.length > 0 && names.length <= 2 && new Set(names).size === names.length,
      describeDamages(damages),
    )
    for (const damage of damages) {
      const { usedBytes, hasOlderCopy } = files.find(({ name }) => name === damage.name)!
      if ('positionBytes' in damage) assert.ok(damage.positionBytes < usedBytes)
      if (damage.type === 'truncate') assert.ok(damage.sizeBytes < usedBytes)
      if (damage.type === 'roll-back') assert.ok(hasOlderCopy)
    }
  }
})

test('damage is done to the files', async t => {
  const root = await temporaryFolder(t)
  const [folder, olderFolder] = [join(root, 'now'), join(root, 'older')]
  const check = async (damage: FileDamage, expected: string | undefined): Promise<void> => {
    for (const [at, content] of [
      [folder, 'abcdef'],
      [olderFolder, 'older'],
    ] as const) {
      await mkdir(at, { recursive: true })
      await writeFile(join(at, 'a'), content)
      await writeFile(join(at, 'b'), 'other')
    }
    await damageFile(damage, { folder, olderFolder })
    const path = join(folder, 'a')
    assert.equal(existsSync(path) ? await readFile(path, 'latin1') : undefined, expected)
  }
  await check({ type: 'flip-bit', name: 'a', positionBytes: 2, bit: 1 }, 'abadef')
  await check({ type: 'zero', name: 'a', positionBytes: 1, sizeBytes: 2 }, 'a\0\0def')
  await check({ type: 'truncate', name: 'a', sizeBytes: 3 }, 'abc')
  await check({ type: 'delete', name: 'a' }, undefined)
  await check({ type: 'roll-back', name: 'a' }, 'older')
  await check({ type: 'swap', name: 'a', otherName: 'b' }, 'other')
  assert.equal(await readFile(join(folder, 'b'), 'latin1'), 'abcdef')
  await damageFile({ type: 'append', name: 'b', sizeBytes: 10 }, { folder, olderFolder })
  assert.equal((await readFile(join(folder, 'b'))).length, 16)
})
