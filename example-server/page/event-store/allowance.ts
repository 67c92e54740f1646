import { byId, setText } from '../dom.ts'

/** Shows what a response says of the allowance: the limit that binds, as it stands in its header fields. */
export function showAllowance({ headers, status }: Response): void {
  const policy = headers.get('ratelimit-policy') ?? ''
  const remaining = parameter(headers.get('ratelimit') ?? '', 'r')
  const name = /^"([^"]*)"/.exec(headers.get('ratelimit') ?? '')?.[1] ?? ''
  const quota = parameter(policyNamed(policy, name), 'q')
  if (remaining === undefined || quota === undefined) setText(byId('numbers', HTMLElement), 'not limited')
  else {
    setText(byId('numbers', HTMLElement), `${remaining.toLocaleString('en')} of ${quota.toLocaleString('en')} units`)
    const meter = byId('level', HTMLMeterElement)
    meter.max = quota
    meter.value = remaining
  }
  const wait = headers.get('retry-after')
  setText(byId('refused', HTMLElement), status === 429 ? `Refused: come again in ${wait ?? 'some'} s.` : '')
}

/** The item of a list of policies that has this name; the only one, when it says none. */
function policyNamed(policies: string, name: string): string {
  return policies.split(/,\s*(?=")/).find((policy) => policy.startsWith(`"${name}"`)) ?? policies
}

function parameter(item: string, name: string): number | undefined {
  const found = new RegExp(`;\\s*${name}=(\\d+)`).exec(item)?.[1]
  return found === undefined ? undefined : Number(found)
}
