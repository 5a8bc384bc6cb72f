import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withLineBreaks } from './with-line-breaks.ts'

test('runs of spaces become the line breaks that they were', () => {
  const check = (text: string, expected: string): void => assert.equal(withLineBreaks(text), expected)
  check('One. Two.', 'One. Two.')
  check('One.  Two.', 'One.\n\nTwo.')
  check('One of:  - a  - b', 'One of:\n\n- a\n\n- b')
  check('One of:  1. a', 'One of:\n 1. a')
  check('One of:   - a', 'One of:\n  - a')
  check('For example:    run()   stop()', 'For example:\n\n  run()\n  stop()')
})
