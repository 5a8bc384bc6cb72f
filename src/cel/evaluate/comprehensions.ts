/** Comprehensions. An iteration costs, besides its condition and body, as much as it would in CEL's fold. */
import { Fault } from '../fault.ts'
import type { Comprehension } from '../syntax.ts'
import { list, ListValue, MapBuilder, MapValue, showKey, type Value } from '../value.ts'
import { type Compile, keyOf } from './aggregates.ts'
import type { Frame, Step } from './frame.ts'
import { evaluateBoolean } from './logic.ts'

export function compileComprehension(
  { operator, range, condition, body }: Comprehension,
  slots: readonly number[],
  compile: Compile,
): Step {
  const loop: Loop = {
    range: compile(range),
    slots,
    condition: condition === undefined ? undefined : compile(condition),
    body: compile(body),
  }
  switch (operator) {
    case 'all':
      return frame => runQuantifier(loop, frame, false)
    case 'exists':
      return frame => runQuantifier(loop, frame, true)
    case 'existsOne':
      return frame => runExistsOne(loop, frame)
    case 'map':
    case 'filter':
    case 'transformList':
      return frame => runList(loop, frame)
    case 'transformMap':
    case 'transformMapEntry':
      return frame => runMap(loop, frame, operator === 'transformMapEntry')
  }
}

interface Loop {
  readonly range: Step
  readonly slots: readonly number[]
  readonly condition: Step | undefined
  readonly body: Step
}

const resultCost = 1
const allTurnCost = 3
const existsTurnCost = 4
const countTurnCost = 1
const listTurnCost = 12
const mapTurnCost = 3
const skippedTurnCost = 1

function runQuantifier(loop: Loop, frame: Frame, decisive: boolean): boolean {
  frame.budget.charge(resultCost)
  const turnCost = decisive ? existsTurnCost : allTurnCost
  let fault: Fault | undefined
  let isDecided = false
  eachTurn(loop, frame, () => {
    frame.budget.charge(turnCost)
    const outcome = evaluateBoolean(loop.body, frame)
    if (typeof outcome !== 'boolean') fault ??= outcome
    isDecided = outcome === decisive
    return !isDecided
  })
  if (isDecided) return decisive
  if (fault !== undefined) throw fault
  return !decisive
}

function runExistsOne(loop: Loop, frame: Frame): boolean {
  frame.budget.charge(resultCost + 1)
  let count = 0
  eachTurn(loop, frame, () => {
    frame.budget.charge(countTurnCost)
    if (holds(loop.body, frame)) {
      frame.budget.charge(1)
      count++
    }
    return true
  })
  return count === 1
}

function runList(loop: Loop, frame: Frame): ListValue {
  const { condition, body } = loop
  frame.budget.charge(resultCost)
  const values: Value[] = []
  eachTurn(loop, frame, () => {
    if (condition === undefined || holds(condition, frame)) {
      frame.budget.charge(listTurnCost)
      values.push(body(frame))
    } else frame.budget.charge(skippedTurnCost)
    return true
  })
  return list(values)
}

function runMap(loop: Loop, frame: Frame, hasEntries: boolean): MapValue {
  const { slots, condition, body } = loop
  frame.budget.charge(resultCost)
  const builder = new MapBuilder()
  eachTurn(loop, frame, () => {
    if (condition !== undefined && !holds(condition, frame)) {
      frame.budget.charge(skippedTurnCost)
      return true
    }
    frame.budget.charge(mapTurnCost)
    const value = body(frame)
    if (hasEntries) insertAll(builder, value, frame)
    else insert(builder, frame.slots[slots[0]!]!, value)
    return true
  })
  return builder.build()
}

function insertAll(builder: MapBuilder, entries: Value, frame: Frame): void {
  if (!(entries instanceof MapValue)) throw new Fault('no such overload')
  frame.budget.charge(entries.size)
  for (const key of entries.keys()) insert(builder, key, entries.get(key)!)
}

function insert(builder: MapBuilder, key: Value, value: Value): void {
  const at = keyOf(key)
  if (builder.has(at)) throw new Fault(`insert failed: key ${showKey(at)} already exists`)
  builder.set(at, value)
}

function holds(condition: Step, frame: Frame): boolean {
  const value = condition(frame)
  if (typeof value !== 'boolean') throw new Fault('no such overload')
  return value
}

/** Calls `turn` for each iteration with the variables set, until it returns false or the range ends. */
function eachTurn(loop: Loop, frame: Frame, turn: () => boolean): void {
  const range = loop.range(frame)
  const [first = 0, second] = loop.slots
  if (range instanceof ListValue) {
    for (let index = 0; index < range.size; index++) {
      if (second === undefined) frame.slots[first] = range.at(index)
      else {
        frame.slots[first] = BigInt(index)
        frame.slots[second] = range.at(index)
      }
      if (!turn()) return
    }
    return
  }
  if (!(range instanceof MapValue)) throw new Fault('no such overload')
  for (const key of range.keys()) {
    frame.slots[first] = key
    if (second !== undefined) frame.slots[second] = range.get(key)!
    if (!turn()) return
  }
}
