import type { JSX } from 'preact'
import type { JsonValue } from '#/api/text/json-value.ts'
import { changesMax, type FieldChange } from '#/history/diff-objects.ts'

/** Changed fields with their values before and after. */
export function FieldChanges({ changes }: { readonly changes: readonly FieldChange[] }): JSX.Element {
  return (
    <>
      <dl class="field-changes">
        {changes.map(({ path, before, after }) => (
          <div
            key={path}
            class={before === undefined ? 'is-added' : after === undefined ? 'is-removed' : 'is-changed'}
          >
            <dt>
              <span class="change-mark" aria-hidden="true">
                {before === undefined ? '+' : after === undefined ? '-' : '~'}
              </span>
              {path === '' ? '(whole object)' : path}
            </dt>
            {before === undefined ? null : (
              <dd class="change-before">
                <del>{valueText(before)}</del>
              </dd>
            )}
            {after === undefined ? null : (
              <dd class="change-after">
                <ins>{valueText(after)}</ins>
              </dd>
            )}
          </div>
        ))}
      </dl>
      {changes.length >= changesMax ? <p class="detail">More changes are left out.</p> : null}
    </>
  )
}

const charactersMax = 4_000

function valueText(value: JsonValue): string {
  const text =
    typeof value === 'string' ? JSON.stringify(value) : (JSON.stringify(value, bigintToText, 2) ?? '')
  return text.length > charactersMax ? `${text.slice(0, charactersMax)}...` : text
}

function bigintToText(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value
}
