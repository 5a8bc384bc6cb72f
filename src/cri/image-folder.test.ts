import assert from 'node:assert/strict'
import { test } from 'node:test'
import { planImageImports, type ImageArchive, type ImportedArchive } from './image-folder.ts'

/** `NAME SIZE TIME` */
function archive(text: string): ImageArchive {
  const [name = '', sizeBytes, modifiedMs] = text.split(' ')
  return { name, sizeBytes: Number(sizeBytes), modifiedMs: Number(modifiedMs) }
}

/** `NAME SIZE TIME: REFERENCE,REFERENCE` */
function imported(text: string): ImportedArchive {
  const [before = '', references = ''] = text.split(': ')
  return { ...archive(before), references: references.split(',') }
}

test('archives are imported once, and their images are pinned while they are there', () => {
  const check = (
    given: { archives?: readonly string[]; imported?: readonly string[]; lost?: readonly string[] },
    expected: { kept?: readonly string[]; missing?: readonly string[]; unpinned?: readonly string[] },
  ): void => {
    const { kept, missing, unpinned } = planImageImports(
      (given.archives ?? []).map(archive),
      (given.imported ?? []).map(imported),
      reference => given.lost?.includes(reference) !== true,
    )
    assert.deepEqual(
      { kept: kept.map(({ name }) => name), missing: missing.map(({ name }) => name), unpinned },
      { kept: [], missing: [], unpinned: [], ...expected },
    )
  }
  check({ archives: ['a.tar 1 1', 'b.tar 1 1'] }, { missing: ['a.tar', 'b.tar'] })
  const both = { archives: ['a.tar 1 1', 'b.tar 1 1'], imported: ['a.tar 1 1: x/a:1', 'b.tar 1 1: x/b:1'] }
  check(both, { kept: ['a.tar', 'b.tar'] })
  check({ ...both, lost: ['x/b:1'] }, { kept: ['a.tar'], missing: ['b.tar'] })
  check({ ...both, archives: ['a.tar 1 1'] }, { kept: ['a.tar'], unpinned: ['x/b:1'] })
  check({ ...both, archives: ['a.tar 1 2'] }, { missing: ['a.tar'], unpinned: ['x/a:1', 'x/b:1'] })
  check({ ...both, archives: [], lost: ['x/a:1'] }, { unpinned: ['x/b:1'] })
  check(
    { archives: ['b.tar 1 1'], imported: ['a.tar 1 1: x/a:1,x/s:1', 'b.tar 1 1: x/s:1'] },
    { kept: ['b.tar'], unpinned: ['x/a:1'] },
  )
})
