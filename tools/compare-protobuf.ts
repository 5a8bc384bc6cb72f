/**
 * Compares the protobuf messages of the built-in API with those of Kubernetes and prints every difference:
 *
 *     node tools/compare-protobuf.ts --reference protobuf-fields.json
 *
 * The reference maps the full name of each message to its fields, `{"name": [number, "type", "repeated"]}`.
 * Messages that are not used here, such as those of versions that are not served, are ignored. Exits with 1
 * when there is a difference.
 */
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { compareMessages, type Messages } from './compare-protobuf-messages.ts'

const { values } = parseArgs({ options: { reference: { type: 'string' } } })
if (values.reference === undefined) throw new Error('the file to compare with is missing: --reference FILE')

const differences = compareMessages(JSON.parse(readFileSync(values.reference, 'utf8')) as Messages)
for (const difference of differences) console.log(difference)
process.exitCode = differences.length === 0 ? 0 : 1
