import type { Signal } from '@preact/signals'
import type { JSX } from 'preact'
import type { Pod } from '#/api/generated/core/v1.ts'
import { FilterField } from '../components/filter-field.tsx'
import { Icon } from '../components/icon.tsx'
import { useKeys } from '../keyboard/key-bindings.ts'
import { replaceQuery, route } from '../router/router.ts'
import { containerNames } from './log-sources.ts'

export interface LogToolbarProps {
  readonly pods: readonly Pod[]
  readonly isWrapped: Signal<boolean>
  readonly isFollowing: Signal<boolean>
  readonly isPaused: boolean
  readonly onPause: () => void
}

/** What is shown of the logs. Choices that make another address are in it. */
export function LogToolbar({
  pods,
  isWrapped,
  isFollowing,
  isPaused,
  onPause,
}: LogToolbarProps): JSX.Element {
  const { container = '', pod = '', filter = '', previous, times } = route.value.query
  const toggle = (name: 'previous' | 'times', isOn: boolean): void =>
    replaceQuery({ [name]: isOn ? 'true' : '' })
  useKeys([
    { keys: 'p Space', title: 'Pause the log', run: onPause },
    { keys: 't', title: 'Times in the log', run: () => toggle('times', times !== 'true') },
    { keys: 'w', title: 'Wrap lines of the log', run: () => (isWrapped.value = !isWrapped.value) },
  ])
  const podNames = pods.map(({ metadata }) => metadata?.name ?? '')
  return (
    <div class="toolbar">
      {pods.length > 1 ? <Choice name="pod" all="All pods" options={podNames} value={pod} /> : null}
      <Choice name="container" all="All containers" options={containerNames(pods)} value={container} />
      <FilterField label="Filter lines" value={filter} onInput={text => replaceQuery({ filter: text })} />
      <Toggle label="Previous" isOn={previous === 'true'} onToggle={isOn => toggle('previous', isOn)} />
      <Toggle label="Times" isOn={times === 'true'} onToggle={isOn => toggle('times', isOn)} />
      <Toggle label="Wrap" isOn={isWrapped.value} onToggle={isOn => (isWrapped.value = isOn)} />
      <Toggle label="Follow" isOn={isFollowing.value} onToggle={isOn => (isFollowing.value = isOn)} />
      <button type="button" class="button" aria-pressed={isPaused} onClick={onPause}>
        <Icon name={isPaused ? 'play' : 'pause'} />
        {isPaused ? 'Continue' : 'Pause'}
      </button>
    </div>
  )
}

interface ChoiceProps {
  /** Of the parameter in the address. */
  readonly name: 'pod' | 'container'
  readonly all: string
  readonly options: readonly string[]
  readonly value: string
}

function Choice({ name, all, options, value }: ChoiceProps): JSX.Element {
  return (
    <select
      aria-label={name}
      value={value}
      onChange={event => replaceQuery({ [name]: event.currentTarget.value })}
    >
      <option value="">{all}</option>
      {options.map(option => (
        <option key={option} value={option}>
          {option}
        </option>
      ))}
    </select>
  )
}

interface ToggleProps {
  readonly label: string
  readonly isOn: boolean
  readonly onToggle: (isOn: boolean) => void
}

function Toggle({ label, isOn, onToggle }: ToggleProps): JSX.Element {
  return (
    <label class="check">
      <input type="checkbox" checked={isOn} onChange={event => onToggle(event.currentTarget.checked)} />
      {label}
    </label>
  )
}
