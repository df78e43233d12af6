#!/usr/bin/env perl
# Prints docs/alerts.md, or writes it (--write). The entry of an alert is the comment below its runbook link in
# deploy/prometheus/alerts.yml, or in services/NAME/alerts.yml. Its tests are the functions of tests/e2e/tests/alerts and
# services/NAME/e2e/alerts.rs that wait for it. The text before the table is that of the present page.
use strict;
use warnings;
use open qw(:std :utf8);

sub lines_of { my ($path) = @_; open my $file, '<', $path or die "$path: $!\n"; my @lines = <$file>; return @lines }

my (%tests, $test);
for my $path (sort glob 'tests/e2e/tests/alerts/*.rs services/*/e2e/alerts.rs') {
    for (lines_of($path)) {
        $test = $1 if /^async fn (\w+)\(/;
        next unless /fires/;
        push @{ $tests{$1} }, $test while /"(\w+) of /g;
    }
}

my ($alert, $severity, $for, $indent, @alerts, %entries);
for (map { lines_of($_) } 'deploy/prometheus/alerts.yml', sort glob 'services/*/alerts.yml') {
    if (/^\s+- (?:alert|record): (\w+)/) { ($alert, $severity, $for, $indent) = ($1, '', '', '') }
    elsif (/^\s+for: (\w+)/) { $for = $1 }
    elsif (/severity: (\w+)/) { $severity = $1 }
    elsif (/^(\s+)runbook:/) {
        $indent = $1;
        push @alerts, $alert;
        $entries{$alert} = "`$severity`" . ($for ? " after $for" : ' at once') . "\n\n";
    }
    elsif ($indent && /^$indent# ?(.*)/) { $entries{$alert} .= "$1\n" }
    else { $indent = '' }
}

my $page = '';
for (lines_of('docs/alerts.md')) { last if /^\| alert \| test \|/; $page .= $_ }
$page .= "| alert | test |\n|---|---|\n";
$page .= sprintf "| [%s](#%s) | %s |\n", $_, lc, join(', ', map {"`$_`"} @{ $tests{$_} // [] }) for @alerts;
$page .= "\n## $_\n\n$entries{$_}" for @alerts;
open STDOUT, '>:utf8', 'docs/alerts.md' or die "docs/alerts.md: $!\n" if "@ARGV" eq '--write';
print $page;
