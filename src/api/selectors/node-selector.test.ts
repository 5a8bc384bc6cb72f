import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatFieldError, type FieldError } from '../field-error.ts'
import {
  compileNodeSelector,
  compileNodeSelectorTerm,
  validateNodeSelector,
  validateNodeSelectorTerm,
  type NodeSelectorRequirement,
  type NodeSelectorTerm,
} from './node-selector.ts'

const node = { metadata: { name: 'n1', labels: { zone: 'a', cores: '16', empty: '' } } }

/** `zone In a b` */
function requirement(text: string): NodeSelectorRequirement {
  const [key = '', operator = '', ...values] = text.split(' ')
  return { key, operator, ...(values.length > 0 && { values }) }
}

function checkExpressions(expected: boolean, ...texts: readonly string[]): void {
  const term = { matchExpressions: texts.map(requirement) }
  assert.equal(compileNodeSelectorTerm(term)(node), expected, texts.join(' and '))
}

function checkFields(expected: boolean, ...texts: readonly string[]): void {
  assert.equal(
    compileNodeSelectorTerm({ matchFields: texts.map(requirement) })(node),
    expected,
    texts.join(' and '),
  )
}

test('node selector operators match labels', () => {
  for (const text of ['zone In a b', 'zone NotIn b', 'other NotIn b', 'zone Exists', 'empty Exists']) {
    checkExpressions(true, text)
  }
  for (const text of ['cores Gt 15', 'cores Lt 17', 'other DoesNotExist', 'constructor DoesNotExist']) {
    checkExpressions(true, text)
  }
  for (const text of ['zone In b', 'other In b', 'zone NotIn a', 'other Exists', 'zone DoesNotExist']) {
    checkExpressions(false, text)
  }
  for (const text of ['cores Gt 16', 'cores Lt 16', 'zone Gt 1', 'other Lt 1']) checkExpressions(false, text)
  checkExpressions(true, 'zone In a', 'cores Gt 1')
  checkExpressions(false, 'zone In a', 'cores Gt 99')
})

test('node selector matchFields match metadata.name', () => {
  checkFields(true, 'metadata.name In n1')
  checkFields(true, 'metadata.name NotIn n2')
  checkFields(false, 'metadata.name In n2')
  checkFields(false, 'metadata.name In n1', 'metadata.name NotIn n1')
})

test('node selector terms are ORed, requirements ANDed', () => {
  const zone: NodeSelectorTerm = { matchExpressions: [requirement('zone In a')] }
  const other: NodeSelectorTerm = { matchExpressions: [requirement('zone In z')] }
  const check = (expected: boolean, ...nodeSelectorTerms: readonly NodeSelectorTerm[]): void => {
    assert.equal(compileNodeSelector({ nodeSelectorTerms })(node), expected)
  }
  check(true, zone)
  check(true, other, zone)
  check(false, other)
  check(false)
  check(false, {})
  check(false, { matchExpressions: [], matchFields: [] })
  check(true, {}, zone)
  check(false, { ...zone, matchFields: [requirement('metadata.name In n2')] })
  check(true, { ...zone, matchFields: [requirement('metadata.name In n1')] })
})

test('invalid node selector terms match no node', () => {
  const expressions = ['zone In', 'zone Exists a', 'zone Like a', 'zone constructor', 'cores Gt x']
  for (const text of [...expressions, 'cores Gt 1 2', '/zone NotIn b']) checkExpressions(false, text)
  const fields = ['metadata.name In', 'metadata.name In n1 n2', 'metadata.name Exists', 'spec.x NotIn y']
  for (const text of fields) checkFields(false, text)
})

test("node selector validation has Kubernetes' messages", () => {
  const check = (errors: readonly FieldError[], ...expected: readonly string[]): void => {
    const texts = errors.map(formatFieldError)
    assert.deepEqual(
      texts.map(text => text.replace(/: a (valid label|lowercase RFC).*/, ': ...')),
      expected,
    )
  }
  const expressions = ['a In b', 'a In', 'a Exists b', 'a Gt', 'a Like', '/a DoesNotExist'].map(requirement)
  const fields = [
    'metadata.name In a',
    'metadata.name In a b',
    'metadata.name Exists',
    'spec.x In y',
    'metadata.name NotIn A',
  ].map(requirement)
  check(
    validateNodeSelectorTerm('t', { matchExpressions: expressions, matchFields: fields }),
    "t.matchExpressions[1].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
    "t.matchExpressions[2].values: Forbidden: may not be specified when `operator` is 'Exists' or " +
      "'DoesNotExist'",
    "t.matchExpressions[3].values: Required value: must be specified single value when `operator` is 'Lt' " +
      "or 'Gt'",
    't.matchExpressions[4].operator: Invalid value: "Like": not a valid selector operator',
    't.matchExpressions[5].key: Invalid value: "/a": prefix part must be non-empty',
    "t.matchFields[1].values: Required value: must be only one value when `operator` is 'In' or 'NotIn' " +
      'for node field selector',
    't.matchFields[2].operator: Invalid value: "Exists": not a valid selector operator',
    't.matchFields[3].key: Invalid value: "spec.x": not a valid field selector key',
    't.matchFields[4].values[0]: Invalid value: "A": ...',
  )
  const odd = { matchExpressions: [{ key: 'a', operator: 'In', values: ['-'] }] }
  check(validateNodeSelectorTerm('t', odd))
  check(
    validateNodeSelector('s', { nodeSelectorTerms: [odd] }),
    's.nodeSelectorTerms[0].matchExpressions[0].values[0]: Invalid value: "-": ...',
  )
  check(
    validateNodeSelector('s', { nodeSelectorTerms: [] }),
    's.nodeSelectorTerms: Required value: must have at least one node selector term',
  )
})
