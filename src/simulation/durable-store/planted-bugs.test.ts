/** Bugs planted into the store and under it: each is found by the simulation within a few seeds. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Files, FileStep, FileWriter } from '#/platform/platform.ts'
import { simulateDurableStore, type PlantedBug } from '../durable-store.ts'
import { storeBugs } from '../store-bugs.ts'

const seedsMax = 200

/** Bugs of writing to the disk. */
const fileBugs: Readonly<Record<string, (files: Files) => Files>> = {
  'commits are not synced': files => writing(files, steps => steps.filter(({ type }) => type !== 'sync')),
  'the log is synced before it is written': files =>
    writing(files, steps =>
      steps.toSorted((left, right) => Number(right.type === 'sync') - Number(left.type === 'sync')),
    ),
  'commits are acknowledged before they are written': files => ({
    ...methodsOf(files),
    openWriter: async () => {
      const writer = await files.openWriter()
      return {
        perform: async steps => void writer.perform(steps),
        [Symbol.asyncDispose]: () => writer[Symbol.asyncDispose](),
      }
    },
  }),
  'the mark is not written': files =>
    writing(files, steps => steps.filter(({ path }) => !path.endsWith('mark'))),
  'the mark is written before the log is synced': files =>
    writing(files, steps => [
      ...steps.filter(({ path }) => path.endsWith('mark')),
      ...steps.flatMap(({ path }) => (path.endsWith('mark') ? [{ type: 'sync' as const, path }] : [])),
      ...steps.filter(({ path }) => !path.endsWith('mark')),
    ]),
  'the last byte of a commit is not written': files =>
    writing(files, steps => changed(steps, step => ({ ...step, bytes: step.bytes.slice(0, -1) }))),
  'a commit is written one byte too far': files =>
    writing(files, steps => changed(steps, step => ({ ...step, positionBytes: step.positionBytes + 1 }))),
  'a bit of a commit is flipped': files => writing(files, steps => changed(steps, flipped)),
  'a segment that is replaced takes its successor with it': files => ({
    ...methodsOf(files),
    remove: async path => {
      await files.remove(path)
      const number = Number(/(\d+)\.log$/u.exec(path)?.[1])
      if (number > 0)
        await files.remove(path.replace(/\d+\.log$/u, `${String(number + 1).padStart(8, '0')}.log`))
    },
  }),
  'a rewritten segment is not there after all': files => ({
    ...methodsOf(files),
    rename: async (from, to) => {
      await files.rename(from, to)
      await files.truncate(to, 0)
    },
  }),
  'reads are shifted': files => ({
    ...methodsOf(files),
    openRead: async path => {
      const file = await files.openRead(path)
      return {
        read: (position, length) => file.read(position + 1, length),
        [Symbol.asyncDispose]: () => file[Symbol.asyncDispose](),
      }
    },
  }),
}

const bugs: readonly (readonly [string, PlantedBug])[] = [
  ...Object.entries(fileBugs).map(([name, files]) => [name, { files }] as const),
  ...Object.entries(storeBugs).map(([name, store]) => [name, { store }] as const),
]

for (const [name, plantedBug] of bugs) {
  test(`a planted bug is found: ${name}`, async t => {
    for (let seed = 0; seed < seedsMax; seed++) {
      const { violations, isRefused, damagedReads } = await simulateDurableStore(seed, { plantedBug })
      if (violations.length === 0 && !isRefused && damagedReads === 0) continue
      t.diagnostic(`found with seed ${seed}: ${violations[0] ?? 'the store refused or failed a read'}`)
      return
    }
    assert.fail(`not found with ${seedsMax} seeds`)
  })
}

/** The methods of a class are not its own properties. */
function methodsOf(files: Files): Files {
  return {
    read: path => files.read(path),
    write: (...args) => files.write(...args),
    openAppend: (...args) => files.openAppend(...args),
    create: path => files.create(path),
    openRead: path => files.openRead(path),
    openWriter: () => files.openWriter(),
    truncate: (...args) => files.truncate(...args),
    link: (...args) => files.link(...args),
    lock: path => files.lock(path),
    rename: (...args) => files.rename(...args),
    remove: path => files.remove(path),
    makeFolder: (...args) => files.makeFolder(...args),
    list: path => files.list(path),
    stat: path => files.stat(path),
    realPath: path => files.realPath(path),
    readLink: path => files.readLink(path),
  }
}

function writing(files: Files, change: (steps: readonly FileStep[]) => FileStep[]): Files {
  const openWriter = async (): Promise<FileWriter> => {
    const writer = await files.openWriter()
    return {
      perform: steps => writer.perform(change(steps)),
      [Symbol.asyncDispose]: () => writer[Symbol.asyncDispose](),
    }
  }
  return { ...methodsOf(files), openWriter }
}

type WriteStep = Extract<FileStep, { readonly type: 'write' }>

/** Changes writes of commits, and not those of headers. */
function changed(steps: readonly FileStep[], change: (step: WriteStep) => WriteStep): FileStep[] {
  return steps.map(step =>
    step.type === 'write' && step.path.endsWith('.log') && step.positionBytes > 0 ? change(step) : step,
  )
}

function flipped(step: WriteStep): WriteStep {
  const bytes = step.bytes.slice()
  const middle = bytes.length >>> 1
  bytes[middle]! ^= 1
  return { ...step, bytes }
}
